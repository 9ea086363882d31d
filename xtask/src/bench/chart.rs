//! The page of growing costs: a small chart for each operation, in one self-contained file.

use std::fmt::Write as _;

use super::growth::{SIZES, Series, UNITS};

const STYLE: &str = "\
:root { color-scheme: light dark; font: 14px/1.45 system-ui, sans-serif }
body { max-width: 75rem; margin: 2rem auto; padding: 0 1rem }
main { display: grid; grid-template-columns: repeat(auto-fill, minmax(13rem, 1fr)); gap: 1rem }
figure { margin: 0 } figcaption { font-weight: 600 } small { opacity: .75 }
svg { width: 100%; height: auto; overflow: visible }
.frame { fill: none; stroke: currentColor; opacity: .25 }
.log { fill: none; stroke: currentColor; opacity: .4; stroke-dasharray: 3 3 }
.cost { fill: none; stroke: #2a7ab8; stroke-width: 2 } .fast { stroke: #c43c2c }
circle { fill: #2a7ab8 } .fast ~ circle { fill: #c43c2c } text { font-size: 10px; fill: currentColor }
";

/// A chart's width and height.
const WIDTH: f64 = 200.0;
const HEIGHT: f64 = 90.0;

/// Renders the page.
pub(crate) fn page(series: &[Series]) -> String {
    let mut text = format!(
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>Cost of growth</title>\n<style>\n{STYLE}</style>\n\
         <h1>Cost of growth</h1>\n<p>What each costs where there are a thousand participants, and \
         ten times as many until there are a million. Both axes are logarithms, and the height \
         stands for a hundredfold. The broken line grows as a logarithm does.</p>\n"
    );
    for unit in &UNITS {
        let _ = writeln!(text, "<h2>{}</h2>\n<main>", unit.name);
        for series in series.iter().filter(|series| series.unit == unit) {
            text += &figure(series);
        }
        text += "</main>\n";
    }
    text
}

fn figure(series: &Series) -> String {
    let [first, .., last] = series.costs;
    // Zero has no logarithm, and is drawn on the base line.
    let ground = { series.costs.into_iter() }
        .filter(|cost| *cost > 0.0)
        .fold(f64::INFINITY, f64::min)
        .min(1e300);
    let place = |(size, cost): (u64, f64)| {
        let x = (size as f64 / SIZES[0] as f64).log10() / 3.0 * WIDTH;
        let y = HEIGHT - (cost.max(ground) / ground).log10() / 2.0 * HEIGHT;
        (x, y.max(0.0))
    };
    let point = |(x, y): (f64, f64)| format!("{x:.1},{y:.1} ");
    let dot = |(x, y): (f64, f64)| format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.5\"/>");
    let log = |size: u64| first * (size as f64).log10() / (SIZES[0] as f64).log10();
    let logs: String = SIZES.map(|size| point(place((size, log(size))))).concat();
    let places = SIZES.into_iter().zip(series.costs).map(place);
    let (costs, dots): (String, String) = places.map(|place| (point(place), dot(place))).unzip();
    let class = if series.is_too_fast() {
        "cost fast"
    } else {
        "cost"
    };
    let (what, ratio) = (&series.what, series.per_tenfold());
    let (width, height, bottom) = (WIDTH + 8.0, HEIGHT + 20.0, HEIGHT + 13.0);
    format!(
        "<figure><figcaption>{what}</figcaption><small>{first:.1} → {last:.1}, × {ratio:.2} per tenfold\
         </small>\n<svg viewBox=\"-4 -4 {width} {height}\" role=\"img\">\
         <rect class=\"frame\" width=\"{WIDTH}\" height=\"{HEIGHT}\"/>\
         <polyline class=\"log\" points=\"{logs}\"/><polyline class=\"{class}\" points=\"{costs}\"/>{dots}\
         <text x=\"0\" y=\"{bottom}\">1 k</text><text x=\"{WIDTH}\" y=\"{bottom}\" \
         text-anchor=\"end\">1 M</text></svg></figure>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::page;
    use crate::bench::growth::{SIZES, Series, UNITS};

    #[test]
    fn the_page_shows_each_series_and_loads_nothing() {
        let of = |what: &str, cost: fn(f64) -> f64| Series {
            what: what.into(),
            unit: &UNITS[2],
            costs: SIZES.map(|size| cost(size as f64)),
        };
        let page = page(&[
            of("room", |_| 400.0),
            of("stream", |n| n),
            of("none", |_| 0.0),
        ]);
        assert_eq!(page.matches("<figure>").count(), 3);
        assert_eq!(page.matches("cost fast").count(), 1);
        assert!(page.contains("<figcaption>room</figcaption>"), "{page}");
        assert!(!page.contains("http") && !page.contains("NaN"), "{page}");
    }
}
