//! `sim calibrate`: measures a live server, and runs a scenario on it and on an equivalent virtual
//! one.

use std::path::PathBuf;
use std::time::Duration;

use super::live_run::watched;
use super::{Console, Problem, check_live, load, prepare_files, run_once};
use crate::VERSION;
use crate::cli::CalibrateArgs;
use sim_live::Options;
use sim_model::outcome::{CalibrationBlock, INTERRUPTED, LiveResult, worst};
use sim_model::plan::Plan;
use sim_report::server_comparison::{LoadStage, ServerComparison, ServerRun};
use sim_report::{CalibrationReport, Detail};
use sim_search::runner::of_one_seed;

/// Measures, prints both worlds, and writes the requested files. Returns the exit code, which reports a
/// failed write.
pub(super) fn run(arguments: &CalibrateArgs, console: &mut Console<'_>) -> Result<u8, Problem> {
    let file = arguments.file.as_ref();
    let plan = file.map(|path| load(path, console).map(|plan| (path, plan)));
    let plan = plan.transpose()?;
    prepare_files(&[&arguments.out, &arguments.json], console)?;
    check_live(plan.iter().map(|(path, plan)| (*path, plan)), console)?;
    let done = all(arguments, plan.as_ref(), console);
    (console.live)(None);
    let done = done?;
    let (json, code) = (arguments.json.as_deref(), done.exit_code);
    if done.sides.is_some() {
        let page = sim_report::calibrated_page(&done, &console.view(Detail::Normal));
        console.show(json, &format!("\n{page}"));
    }
    let yaml = || Ok(sim_report::calibration_yaml(&done.measured, VERSION));
    let written = console.write(arguments.out.as_deref(), yaml, code);
    Ok(worst(written, console.write_json(json, &done, code)))
}

/// Measures the server, prints its times, and compares both worlds.
fn all(
    arguments: &CalibrateArgs,
    plan: Option<&(&PathBuf, Plan)>,
    console: &mut Console<'_>,
) -> Result<CalibrationReport, Problem> {
    let options = arguments.options();
    let tell = &mut *console.live;
    let measured = sim_live::calibrate(&options, &mut |line| tell(Some(line)))?;
    (console.live)(None);
    let yaml = sim_report::calibration_yaml(&measured, VERSION);
    console.show(arguments.json.as_deref(), &yaml);
    let sides = match plan {
        None => None,
        Some((path, plan)) => {
            let seed = arguments.seed.unwrap_or(plan.seed);
            let mut scales = Vec::new();
            for scale in arguments.loads() {
                let options = Options {
                    scale,
                    ..options.clone()
                };
                scales.push(both(plan, seed, &options, &measured.block, console)?);
            }
            let (name, file) = (plan.name.clone(), path.display().to_string());
            Some(ServerComparison::of(name, file, seed, scales))
        }
    };
    let runs = sides.iter().flat_map(|sides| &sides.scales);
    let codes = runs.flat_map(|scale| [&scale.simulated, &scale.live].map(ServerRun::exit_code));
    Ok(CalibrationReport {
        exit_code: codes.fold(0, worst),
        measured,
        sides,
    })
}

/// Runs one load in both worlds.
fn both(
    plan: &Plan,
    seed: u64,
    options: &Options,
    block: &CalibrationBlock,
    console: &mut Console<'_>,
) -> Result<LoadStage, Problem> {
    let ready = sim_live::ready(plan, options)?;
    let (summary, live) = watched(&ready, seed, (None, None), console)?;
    if console.interrupt.is_requested() {
        let (code, said) = (INTERRUPTED, "interrupted: no comparison".to_owned());
        return Err(Problem { code, said });
    }
    let pace = (live.offered_per_second, live.achieved_per_second);
    let actual = ServerRun::of(&summary.result, pace, remarks(&live));
    let mut plan = ready.plan.clone();
    block.apply(&mut plan);
    let ended = run_once(console.run, (&plan, seed), None);
    let pace = ended.as_ref().map_or((0.0, 0.0), |done| {
        done.metrics.calls_each_second(done.ran.ended_at)
    });
    let summary = of_one_seed(seed, ended).finish(&plan, Duration::ZERO);
    let simulated = ServerRun::of(&summary.result, pace, Vec::new());
    Ok(LoadStage::of(options.scale.as_f64(), simulated, actual))
}

fn remarks(live: &LiveResult) -> Vec<String> {
    let mut remarks = live.remarks.clone();
    if !live.left_out.is_empty() {
        let (who, why) = (live.left_out.join(", "), live.lacking.join(", "));
        remarks.push(format!(
            "in neither world came {who}: the server lacks {why}"
        ));
    }
    remarks
}
