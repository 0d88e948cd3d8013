//! Sets of characters: by name, Perl's, POSIX's and Unicode's; and their ranges.
//!
//! A set is written as it stands between the brackets of a class of `regex-syntax`, which knows the tables of
//! Unicode. It parses nothing but sets.

use regex_syntax::hir::{self, HirKind};

/// A set of characters.
#[derive(Debug)]
pub(super) struct Class {
    /// The characters below 128 that are in it, a bit for each.
    ascii: [u64; 2],
    /// Ranges in order.
    ranges: Box<[(char, char)]>,
}

impl Class {
    /// Reads a set as it is written; `None` if it is none.
    pub(super) fn read(written: &str) -> Option<Class> {
        let ranges: Box<[(char, char)]> = match regex_syntax::parse(written).ok()?.into_kind() {
            HirKind::Class(hir::Class::Unicode(class)) => {
                class.iter().map(|range| (range.start(), range.end())).collect()
            }
            HirKind::Class(hir::Class::Bytes(class)) => {
                class.iter().map(|range| (char::from(range.start()), char::from(range.end()))).collect()
            }
            HirKind::Literal(literal) => {
                std::str::from_utf8(&literal.0).ok()?.chars().map(|literal| (literal, literal)).collect()
            }
            _ => return None,
        };
        let mut class = Class { ascii: [0; 2], ranges };
        for code in 0..128_u8 {
            if class.search(char::from(code)) {
                class.ascii[usize::from(code / 64)] |= 1 << (code % 64);
            }
        }
        Some(class)
    }

    /// Whether a character is in it.
    pub(super) fn contains(&self, character: char) -> bool {
        match u32::from(character) {
            code @ 0..64 => self.ascii[0] & 1 << code != 0,
            code @ 64..128 => self.ascii[1] & 1 << (code - 64) != 0,
            _ => self.search(character),
        }
    }

    fn search(&self, character: char) -> bool {
        self.ranges
            .binary_search_by(|(first, last)| {
                if *last < character {
                    std::cmp::Ordering::Less
                } else if *first > character {
                    std::cmp::Ordering::Greater
                } else {
                    std::cmp::Ordering::Equal
                }
            })
            .is_ok()
    }

    /// How many ends its ranges have.
    pub(super) fn runes(&self) -> u64 {
        self.ranges.len() as u64 * 2
    }
}

/// The characters of `\d`, `\s`, `\w`.
pub(super) fn perl(letter: u8) -> Option<&'static str> {
    Some(match letter {
        b'd' => "0-9",
        b's' => r"\t\n\x0c\r\x20",
        b'w' => "0-9A-Za-z_",
        _ => return None,
    })
}

/// The characters of `[:name:]`.
pub(super) fn posix(name: &str) -> Option<&'static str> {
    Some(match name {
        "alnum" => "0-9A-Za-z",
        "alpha" => "A-Za-z",
        "ascii" => r"\x00-\x7f",
        "blank" => r"\t\x20",
        "cntrl" => r"\x00-\x1f\x7f",
        "digit" => "0-9",
        "graph" => r"\x21-\x7e",
        "lower" => "a-z",
        "print" => r"\x20-\x7e",
        "punct" => r"\x21-\x2f\x3a-\x40\x5b-\x60\x7b-\x7e",
        "space" => r"\t-\r\x20",
        "upper" => "A-Z",
        "word" => "0-9A-Za-z_",
        "xdigit" => "0-9A-Fa-f",
        _ => return None,
    })
}

/// All characters.
pub(super) const ANY: &str = r"\x{0}-\x{10ffff}";

/// The characters of `\p{name}`. Case, blanks, hyphens and underscores of the name are of no weight.
pub(super) fn unicode(name: &str) -> Option<String> {
    let name = canonical(name);
    if let Some((_, category)) =
        CATEGORIES.iter().find(|(known, category)| canonical(known) == name || canonical(category) == name)
    {
        return Some(match *category {
            // Surrogates never stand in a text.
            "Cs" => "[^\\x{0}-\\x{10ffff}]".to_owned(),
            category => format!("\\p{{gc={category}}}"),
        });
    }
    match name.as_str() {
        "any" => return Some(ANY.to_owned()),
        "assigned" => return Some("\\P{gc=Cn}".to_owned()),
        "ascii" => return Some(r"\x00-\x7f".to_owned()),
        _ => {}
    }
    let script = SCRIPTS.split_ascii_whitespace().find(|known| canonical(known) == name)?;
    Some(format!("\\p{{sc={script}}}"))
}

fn canonical(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).map(|c| c.to_ascii_lowercase()).collect()
}

/// Names and short names of general categories.
const CATEGORIES: [(&str, &str); 42] = [
    ("Other", "C"),
    ("Control", "Cc"),
    ("cntrl", "Cc"),
    ("Format", "Cf"),
    ("Unassigned", "Cn"),
    ("Private_Use", "Co"),
    ("Surrogate", "Cs"),
    ("Letter", "L"),
    ("Cased_Letter", "LC"),
    ("Lowercase_Letter", "Ll"),
    ("Modifier_Letter", "Lm"),
    ("Other_Letter", "Lo"),
    ("Titlecase_Letter", "Lt"),
    ("Uppercase_Letter", "Lu"),
    ("Mark", "M"),
    ("Combining_Mark", "M"),
    ("Spacing_Mark", "Mc"),
    ("Enclosing_Mark", "Me"),
    ("Nonspacing_Mark", "Mn"),
    ("Number", "N"),
    ("Decimal_Number", "Nd"),
    ("digit", "Nd"),
    ("Letter_Number", "Nl"),
    ("Other_Number", "No"),
    ("Punctuation", "P"),
    ("punct", "P"),
    ("Connector_Punctuation", "Pc"),
    ("Dash_Punctuation", "Pd"),
    ("Close_Punctuation", "Pe"),
    ("Final_Punctuation", "Pf"),
    ("Initial_Punctuation", "Pi"),
    ("Other_Punctuation", "Po"),
    ("Open_Punctuation", "Ps"),
    ("Symbol", "S"),
    ("Currency_Symbol", "Sc"),
    ("Modifier_Symbol", "Sk"),
    ("Math_Symbol", "Sm"),
    ("Other_Symbol", "So"),
    ("Separator", "Z"),
    ("Line_Separator", "Zl"),
    ("Paragraph_Separator", "Zp"),
    ("Space_Separator", "Zs"),
];

/// Names of scripts.
const SCRIPTS: &str = "
    Adlam Ahom Anatolian_Hieroglyphs Arabic Armenian Avestan Balinese Bamum Bassa_Vah Batak Bengali Bhaiksuki Bopomofo
    Brahmi Braille Buginese Buhid Canadian_Aboriginal Carian Caucasian_Albanian Chakma Cham Cherokee Chorasmian Common
    Coptic Cuneiform Cypriot Cypro_Minoan Cyrillic Deseret Devanagari Dives_Akuru Dogra Duployan Egyptian_Hieroglyphs
    Elbasan Elymaic Ethiopic Georgian Glagolitic Gothic Grantha Greek Gujarati Gunjala_Gondi Gurmukhi Han Hangul
    Hanifi_Rohingya Hanunoo Hatran Hebrew Hiragana Imperial_Aramaic Inherited Inscriptional_Pahlavi
    Inscriptional_Parthian Javanese Kaithi Kannada Katakana Kawi Kayah_Li Kharoshthi Khitan_Small_Script Khmer Khojki
    Khudawadi Lao Latin Lepcha Limbu Linear_A Linear_B Lisu Lycian Lydian Mahajani Makasar Malayalam Mandaic Manichaean
    Marchen Masaram_Gondi Medefaidrin Meetei_Mayek Mende_Kikakui Meroitic_Cursive Meroitic_Hieroglyphs Miao Modi
    Mongolian Mro Multani Myanmar Nabataean Nag_Mundari Nandinagari New_Tai_Lue Newa Nko Nushu Nyiakeng_Puachue_Hmong
    Ogham Ol_Chiki Old_Hungarian Old_Italic Old_North_Arabian Old_Permic Old_Persian Old_Sogdian Old_South_Arabian
    Old_Turkic Old_Uyghur Oriya Osage Osmanya Pahawh_Hmong Palmyrene Pau_Cin_Hau Phags_Pa Phoenician Psalter_Pahlavi
    Rejang Runic Samaritan Saurashtra Sharada Shavian Siddham SignWriting Sinhala Sogdian Sora_Sompeng Soyombo Sundanese
    Syloti_Nagri Syriac Tagalog Tagbanwa Tai_Le Tai_Tham Tai_Viet Takri Tamil Tangsa Tangut Telugu Thaana Thai Tibetan
    Tifinagh Tirhuta Toto Ugaritic Vai Vithkuqi Wancho Warang_Citi Yezidi Yi Zanabazar_Square
";
