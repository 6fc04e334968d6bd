//! Names of files in command lines that are copied into a shell.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The name as one word of a shell: as it is where no character means anything to a shell, else in quotes. Bytes that
/// are no text and control characters are escaped (`$'...'`, as bash, zsh and POSIX.1-2024 have it).
pub fn quoted(path: &Path) -> String {
    let bytes = path.as_os_str().as_bytes();
    let is_plain = |&byte: &u8| byte.is_ascii_alphanumeric() || b"_-./:,@%+=".contains(&byte) || byte >= 0x80;
    match path.to_str() {
        Some(text) if !text.is_empty() && bytes.iter().all(is_plain) && !text.contains(char::is_control) => {
            text.to_owned()
        }
        Some(text) if !text.contains(char::is_control) => format!("'{}'", text.replace('\'', r"'\''")),
        _ => {
            let escaped = bytes.iter().map(|&byte| match byte {
                b'\'' | b'\\' => format!("\\{}", char::from(byte)),
                b'\n' => r"\n".to_owned(),
                b' '..=b'~' => char::from(byte).to_string(),
                _ => format!("\\x{byte:02x}"),
            });
            format!("$'{}'", escaped.collect::<String>())
        }
    }
}

/// Several names, with blanks between them.
pub fn all_quoted(paths: &[impl AsRef<Path>]) -> String {
    paths.iter().map(|path| quoted(path.as_ref())).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::process::Command;

    use super::*;

    #[test]
    fn a_shell_reads_each_name_as_it_is() {
        let names: [&[u8]; 8] = [
            b"a.mpitrace",
            b"my runs/a.mpitrace",
            b"it's",
            b"$HOME;`ls`*?",
            b"a\nb\tc\"d' \xff\xfe\\1",
            "Läufe/α.mpitrace".as_bytes(),
            b"",
            b"~/a #1",
        ];
        for name in names {
            let word = quoted(Path::new(OsStr::from_bytes(name)));
            let ran = Command::new("bash").args(["-c", &format!("printf %s {word}")]).output().unwrap();
            assert_eq!(ran.stdout, name, "{word}");
        }
        assert_eq!(all_quoted(&["a.mpitrace", "my runs"]), "a.mpitrace 'my runs'");
    }
}
