//! The words after `cargo xtask cluster`.

use super::{Request, number};
use crate::cluster::ClusterRequest;

/// Parses the arguments after `cluster`.
pub(super) fn read<'a>(words: impl Iterator<Item = &'a str>) -> Result<Request, String> {
    let mut request = ClusterRequest {
        rounds: 25,
        seed: 1,
        faults: None,
    };
    let mut words = words.flat_map(|word| word.split('='));
    while let Some(word) = words.next() {
        match word {
            "-h" | "--help" => return Ok(Request::Help),
            "--from" => {
                let revision = words.next().ok_or("`--from` needs a revision")?;
                return match words.next() {
                    None => Ok(Request::Upgrade(revision.to_owned())),
                    Some(_) => Err("`--from REV` goes alone".to_owned()),
                };
            }
            "--rounds" => request.rounds = number("--rounds", words.next())?,
            "--seed" => request.seed = number("--seed", words.next())?,
            "--faults" => {
                let names = words.next().ok_or("`--faults` needs names of faults")?;
                request.faults = Some(names.to_owned());
            }
            other => {
                return Err(format!(
                    "unknown word `{other}` after `cluster`: expected `--rounds N`, `--seed N`, \
                     `--faults NAME,NAME`, `--from REV` or `--help`"
                ));
            }
        }
    }
    Ok(Request::Cluster(request))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_line::tests::check;

    #[test]
    fn a_cluster_takes_rounds_and_a_seed() {
        let faults = Some("a,b".to_owned());
        let (rounds, seed) = (60, 7);
        let wanted = ClusterRequest {
            rounds,
            seed,
            faults,
        };
        let read = check("cluster --rounds=60 --seed 7 --faults a,b");
        assert_eq!(read, Ok(Request::Cluster(wanted)));
        assert!(check("cluster --rounds 0").is_err());
        let upgrade = Request::Upgrade("v0.1.0".to_owned());
        assert_eq!(check("cluster --from v0.1.0"), Ok(upgrade));
        assert!(check("cluster --from").is_err());
        assert!(check("cluster --from v0.1.0 --rounds 3").is_err());
        assert!(check("cluster 5").is_err());
    }
}
