//! Exit codes.

/// What a command exits with. Of several, the worst: 1, else 5, else 4, else
/// 3, else 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exit(u8);

/// The codes from good to worst.
const SEVERITY: [u8; 6] = [0, 2, 3, 4, 5, 1];

impl Exit {
    /// Done.
    pub(crate) const DONE: Exit = Exit(0);
    /// Damage was found, or images differ.
    pub(crate) const DAMAGE: Exit = Exit(1);
    /// The command line is wrong.
    pub(crate) const USAGE: Exit = Exit(2);
    /// Input/output or resources failed.
    pub(crate) const RESOURCES: Exit = Exit(4);

    /// An error's own code.
    pub(crate) fn of(code: u8) -> Exit {
        Exit(code)
    }

    /// The process's exit code.
    pub(crate) fn code(self) -> u8 {
        self.0
    }

    /// Becomes `other`, if that is worse.
    pub(crate) fn raise(&mut self, other: Exit) {
        let severity = |exit: Exit| SEVERITY.iter().position(|&code| code == exit.0);
        if severity(other) > severity(*self) {
            *self = other;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_the_worst() {
        let worst = |codes: &[u8]| {
            let mut exit = Exit::DONE;
            codes.iter().for_each(|&code| exit.raise(Exit(code)));
            exit.code()
        };
        for (codes, expected) in [
            (&[][..], 0),
            (&[0, 2, 0], 2),
            (&[2, 3], 3),
            (&[4, 3], 4),
            (&[3, 5, 4], 5),
            (&[1, 5, 4, 3, 2, 0], 1),
            (&[0, 5, 1], 1),
        ] {
            assert_eq!(worst(codes), expected, "{codes:?}");
        }
        assert_eq!(Exit::DAMAGE.code(), 1);
    }
}
