#[allow(dead_code)]
#[path = "/tmp/exemplars_pub.rs"]
mod exemplars;
use pintle_codec::*;
use pintle_schema::*;

#[test]
fn oracle() {
    let text = std::fs::read_to_string("/tmp/codec_cases.tsv").unwrap();
    let s = |t: &str| json::parse(t.as_bytes(), Strictness::Ignore).unwrap().value.as_str().unwrap().to_owned();
    let (mut n, mut bad, mut skipped) = (0, 0, 0);
    for line in text.lines() {
        let p: Vec<&str> = line.split('\t').collect();
        let mut name = p[0].to_owned();
        if name == "policy.v1.Eviction" { name = "policy.v1.Eviction".into(); }
        let Some((_, schema)) = exemplars::KINDS.iter().find(|(k, _)| *k == name) else { skipped += 1; continue };
        let (want, body) = (s(p[4]), s(p[5]));
        let code = p[1];
        n += 1;
        let found = json::decode(schema(), body.as_bytes(), Strictness::Collect);
        let shown = match &found {
            Err(e) => e.to_string(),
            Ok(d) if !d.problems.is_empty() => format!("strict decoding error: {}", d.problems.iter().map(|p| p.to_string()).collect::<Vec<_>>().join(", ")),
            Ok(_) => String::new(),
        };
        let wanted = if let Some((_, t)) = want.split_once("json parse error: ") {
            let e = match json::type_meta(body.as_bytes()) { Err(e) => e.to_string(), Ok(_) => "ok".into() };
            if !t.starts_with(&e) { bad += 1; println!("TM {} | {} | {}", p[6], e, t); }
            continue;
        } else if let Some((_, t)) = want.split_once(" cannot be handled as a ") {
            let t = t.split_once(": ").unwrap().1;
            if t.starts_with("no kind") || t.starts_with("converting") { continue; }
            t.to_owned()
        } else {
            let warn = json::parse(p[3].as_bytes(), Strictness::Ignore).unwrap().value;
            let w: Vec<String> = warn.as_list().unwrap().iter().map(|v| v.as_str().unwrap().to_owned()).filter(|t| t.starts_with("unknown field") || t.starts_with("duplicate field")).collect();
            if w.is_empty() { String::new() } else { format!("strict decoding error: {}", w.join(", ")) }
        };
        let ignore = p[2].contains("Ignore");
        if shown != wanted && !(ignore && shown.starts_with("strict")) {
            bad += 1;
            println!("{} {} | found {} | wanted {}", p[6], code, shown, wanted);
        }
    }
    println!("{n} cases, {bad} bad, {skipped} skipped");
}

#[test]
fn gotypes() {
    fn walk(s: &'static Struct, seen: &mut std::collections::HashSet<usize>) {
        if !seen.insert(s as *const _ as usize) { return; }
        let gv = s.group_version();
        for f in s.fields.iter() {
            println!("GT {}/{} {} {} {}", gv.0, gv.1, s.name.as_str(), f.name.as_str(), name(&f.ty));
            ty(&f.ty, seen);
        }
    }
    fn st(s: &Struct) -> &'static Struct { unsafe { &*(s as *const Struct) } }
    fn ty(t: &Type, seen: &mut std::collections::HashSet<usize>) {
        match t { Type::Struct(s) => walk(st(s), seen), Type::List(l) => ty(&l.elem, seen), Type::Map(m) => ty(&m.elem, seen), _ => {} }
    }
    fn name(ty: &Type) -> String {
        match ty {
            Type::Any => "interface {}".to_owned(), Type::Bool => "bool".to_owned(), Type::Int32 => "int32".to_owned(), Type::Int64 => "int64".to_owned(),
            Type::Float64 => "float64".to_owned(), Type::String => "string".to_owned(),
            Type::Enum(e) => format!("{}.{}", e.module.split("::").nth(2).unwrap_or("v1"), e.name),
            Type::Bytes => "[]uint8".to_owned(), Type::IntOrString => "intstr.IntOrString".to_owned(), Type::Quantity => "resource.Quantity".to_owned(),
            Type::Time => "v1.Time".to_owned(), Type::MicroTime => "v1.MicroTime".to_owned(), Type::Duration => "v1.Duration".to_owned(),
            Type::RawExtension => "runtime.RawExtension".to_owned(), Type::Json => "v1.JSON".to_owned(), Type::FieldsV1 => "v1.FieldsV1".to_owned(),
            Type::Struct(s) => format!("{}.{}", s.group_version().1, s.name.as_str()),
            Type::List(l) => format!("[]{}", name(&l.elem)), Type::Map(m) => format!("map[string]{}", name(&m.elem)),
        }
    }
    let mut seen = Default::default();
    for (_, s) in exemplars::KINDS { walk(s(), &mut seen); }
}
