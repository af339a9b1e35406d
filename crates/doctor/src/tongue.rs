//! How people complain of a sleep in German, French and Spanish around a log that is English:
//! each tongue is a list of words, and what makes a complaint is the same for all.

/// Words of one tongue in small letters. Each list is parted by `|`.
struct Tongue {
    /// Shows that a sentence is of this tongue: little words, with a blank on both sides.
    little: &'static str,
    /// Sleep, and to send a machine there.
    sleep: &'static str,
    /// To come back.
    wake: &'static str,
    /// By itself, or too soon.
    by_itself: &'static str,
    /// By hand: what a person may do.
    by_hand: &'static str,
    /// That something is not.
    never: &'static str,
    /// That it is over; of two words with `+` between, the second stands near behind the first.
    no_more: &'static str,
    /// What a machine does that does not sleep or wake well.
    breaks: &'static str,
    /// What is wrong with a thing behind a sleep.
    dead: &'static str,
    /// What does not work, with its denial.
    fails: &'static str,
    /// Behind a sleep.
    after: &'static str,
    /// The battery, and that it is used up.
    battery: &'static str,
    drains: &'static str,
    /// When nobody used it.
    unused: &'static str,
    /// Of another time, of a cure, or a question.
    elsewhere: &'static str,
}

const TONGUES: [Tongue; 3] = [
    Tongue {
        little: " der | die | das | ich | ist | nicht | mein | und | nach | im | beim | sich | dem | den | auf | bei | ein ",
        sleep: "ruhezustand|standby|bereitschaft|suspend|schlaf|energiesparmodus|hibernate",
        wake: "wach|weck|wecken|resume|startet",
        by_itself: "sofort|von selbst|von selber|von allein|gleich wieder|direkt wieder|ständig|grundlos|ohne grund|nach wenigen sekunden|nach ein paar sekunden|mitten in der nacht",
        by_hand: "taste|drücke|aufklapp|deckel auf|maus beweg",
        never: " nicht | nie | niemals | nicht.| nicht,| nicht mehr ",
        no_more: " nicht mehr | nie | niemals | nie wieder |keine probleme",
        breaks: "stürzt|hängt|friert|kaputt|abgestürzt",
        dead: "schwarz|tot |tot.|eingefroren|weg.|weg |weg,|verschwunden|fehlt",
        fails: "geht nicht|funktioniert nicht|geht nichts|reagiert nicht",
        after: "nach dem aufwach|nach dem ruhezustand|nach dem standby|nach standby|nach suspend|nach dem suspend|beim aufwach|aus dem standby|aus dem ruhezustand|nach dem resume|nach resume|nach dem schlaf",
        battery: "akku|batterie|prozent|%",
        drains: "leer|verliert|verloren|entlädt|entladen|verbraucht|zieht",
        unused: "über nacht|in der tasche|im rucksack|am morgen|am nächsten tag",
        elsewhere: "?|behoben|gelöst|lösung|windows|früher|anderer rechner|anderen rechner|andere laptop|anderes notebook|funktioniert jetzt|geht jetzt|nicht nachstellen|kein problem|falls ",
    },
    Tongue {
        little: " le | la | les | je | est | mon | ma | et | ne | en | du | une | un | des | sur ",
        sleep: "veille|suspend|hibernation|hiberner",
        wake: "réveil|reveil|sort de|resume|rallume",
        by_itself: "tout seul|toute seule|immédiatement|immediatement|aussitôt|tout de suite|sans raison|quelques secondes|en pleine nuit",
        by_hand: "touche|clavier|appui|ouvr|souris",
        never: " pas | jamais | plus | refuse | impossible ",
        no_more: " ne + plus| n'+ plus| jamais ",
        breaks: "fige|plante|gèle|cassé|redémarre",
        dead: "écran noir|noir |noir.|figé|bloqué|gelé|mort|disparu",
        fails: "ne fonctionne pas|ne fonctionne plus|ne marche pas|ne marche plus|ne répond plus|ne répond pas",
        after: "après la veille|après une veille|après la mise en veille|après une mise en veille|au réveil|sortie de veille|après le réveil|après suspend|après la sortie",
        battery: "batterie|%",
        drains: "se vide|vide |vide.|perd |perdu|décharge|à plat",
        unused: "pendant la nuit|dans le sac|au matin|en une nuit|dans la nuit",
        elsewhere: "?|résolu|corrigé|windows|avant la mise à jour|autre machine|autre pc|fonctionne maintenant|aucun problème|pas de problème| si ",
    },
    Tongue {
        little: " el | la | los | mi | es | se | que | y | no | en | de ",
        sleep: "suspen|hiberna|dormir|reposo",
        wake: "despiert|despert|reanud|enciende",
        by_itself: "solo|sola|inmediatamente|de inmediato|en seguida|enseguida|sin motivo|sin razón|segundos",
        by_hand: "tecla|teclado|pulso|abro|abrir|ratón",
        never: " no | nunca | jamás | imposible ",
        no_more: " ya no | nunca | jamás ",
        breaks: "congela|cuelga|reinicia|bloquea",
        dead: "pantalla negra|negro|congelad|colgad|muert|desaparec|bloquead",
        fails: "no funciona|no responde|deja de funcionar",
        after: "después de suspender|después de la suspensión|tras suspender|tras la suspensión|al despertar|al reanudar|tras reanudar|después de hibernar",
        battery: "batería|bateria|%",
        drains: "descarga|pierde|perdió|agota|gasta|vacía",
        unused: "durante la noche|toda la noche|en la mochila|por la mañana",
        elsewhere: "?|solucionado|resuelto|arreglado|windows|antes de actualizar|otra máquina|otro equipo|ya funciona|sin problema| si ",
    },
];

/// What is not stands so many bytes from the word for it at most.
const NEAR: usize = 36;

/// Whether a text has one of these words, which `|` parts.
pub(crate) fn has(lower: &str, any: &str) -> bool {
    any.split('|').any(|w| lower.contains(w))
}

impl Tongue {
    /// How many of its little words a sentence has.
    fn speaks(&self, padded: &str) -> usize {
        self.little.split('|').filter(|w| padded.contains(w)).count()
    }

    /// Whether one of these words is said and not denied right beside it.
    fn says(&self, padded: &str, list: &str) -> bool {
        const BESIDE: usize = 14;
        list.split('|').filter_map(|w| Some((padded.find(w)?, w.len()))).any(|(at, len)| {
            let from = padded.floor_char_boundary(at.saturating_sub(BESIDE));
            let to = padded.ceil_char_boundary((at + len + BESIDE).min(padded.len()));
            !has(&padded[from..to], self.never)
        })
    }

    /// Whether a sentence says that something is no more.
    fn is_over(&self, padded: &str) -> bool {
        self.no_more.split('|').any(|w| match w.split_once('+') {
            None => padded.contains(w),
            Some((a, b)) => padded.match_indices(a).any(|(at, _)| {
                let from = at + a.len();
                let to = padded.ceil_char_boundary((from + NEAR).min(padded.len()));
                padded[from..to].contains(b)
            }),
        })
    }

    fn is_dead(&self, padded: &str) -> bool {
        let dead = self.says(padded, self.dead);
        has(padded, self.after) && (dead || has(padded, self.fails))
    }

    fn complains(&self, padded: &str) -> bool {
        let sleeps = has(padded, self.sleep);
        // A waking of which something else is told is no complaint of it.
        let bare = self.after.split('|').fold(padded.to_owned(), |s, w| s.replace(w, " "));
        let by_itself = has(padded, self.by_itself);
        let wakes = sleeps
            && has(&bare, self.wake)
            && by_itself
            && !has(padded, self.by_hand)
            && !has(padded, self.never);
        let never = self.never.split('|').filter_map(|w| bare.find(w)).any(|at| {
            let from = bare.floor_char_boundary(at.saturating_sub(NEAR));
            let near = &bare[from..bare.ceil_char_boundary((at + NEAR).min(bare.len()))];
            has(near, self.sleep) || has(near, self.wake)
        });
        // Trouble that is over is none; to wake no more is, and what works no more behind a sleep.
        if self.is_over(padded) && !(has(padded, self.after) && has(padded, self.fails)) {
            let over = |list: &str| has(padded, list) && !self.says(padded, list);
            let trouble = over(self.breaks) || over(self.dead) || over(self.drains);
            return never && !by_itself && !trouble && !has(padded, "problem");
        }
        let battery = has(padded, self.battery) && has(padded, self.drains);
        let drains = has(padded, self.battery)
            && self.says(padded, self.drains)
            && (sleeps || has(padded, self.unused));
        let breaks = self.says(padded, self.breaks)
            && (sleeps || has(padded, self.wake) || has(padded, self.after));
        wakes || never && !battery || drains || breaks || self.is_dead(padded)
    }
}

/// The sentence in small letters between blanks, and the tongue it is of, if its words are of
/// this time and machine.
fn of(sentence: &str) -> Option<(String, &'static Tongue)> {
    let padded = format!(" {} ", sentence.to_lowercase());
    // Two little words and more, or one beside another of its words; where two tongues share
    // them, the other words decide.
    let own = |t: &Tongue| {
        let lists = [t.by_itself, t.dead, t.after, t.unused];
        lists.iter().filter(|w| has(&padded, w)).count()
    };
    let of_it = |t: &&Tongue| match t.speaks(&padded) {
        0 => false,
        1 => own(t) > 0,
        _ => true,
    };
    let rest = |t: &Tongue| {
        own(t) + [t.sleep, t.wake, t.battery].iter().filter(|w| has(&padded, w)).count()
    };
    let tongue = TONGUES.iter().filter(of_it).max_by_key(|t| t.speaks(&padded) + 2 * rest(t))?;
    (!has(&padded, tongue.elsewhere)).then_some((padded, tongue))
}

/// Whether a sentence of another tongue complains of a sleep.
pub(crate) fn complains(sentence: &str) -> bool {
    of(sentence).is_some_and(|(padded, tongue)| tongue.complains(&padded))
}

/// Whether a sentence of another tongue says that something is dead behind a sleep.
pub(crate) fn is_dead(sentence: &str) -> bool {
    of(sentence).is_some_and(|(padded, tongue)| tongue.is_dead(&padded))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complaints_are_heard_in_three_more_tongues() {
        for said in [
            "Mein Laptop wacht sofort wieder aus dem Standby auf und ich finde nichts",
            "Der Rechner geht nicht in den Ruhezustand und ist heiß",
            "Über Nacht verliert der Akku 40 % und ich weiß nicht warum",
            "mein T480 verliert über Nacht 17 %",
            "Nach dem Aufwachen ist der Bildschirm schwarz und die Tastatur tot",
            "Mon portable se réveille tout seul quelques secondes après la mise en veille",
            "La machine ne se met pas en veille quand je ferme le capot",
            "La batterie se vide en veille, le matin elle est à 10 %",
            "Au réveil le wifi ne fonctionne plus et je dois redémarrer la machine",
            "El portátil se despierta solo al suspender y no sé la causa",
            "La batería se descarga durante la noche en la mochila",
            "El equipo no se suspende y la pantalla queda encendida",
            "Mein Notebook stürzt beim Aufwachen ab und ich muss neu starten",
            "Der Laptop friert im Standby ein",
            "Seit dem Update hängt sich der Rechner beim Suspend auf",
            "Mein Notebook wacht nach dem Zuklappen nicht mehr auf, der Bildschirm bleibt schwarz",
            "Le portable se fige à la sortie de veille",
            "La machine ne se réveille plus de la veille",
            "El portátil se congela al suspender",
            "El wifi deja de funcionar al reanudar",
        ] {
            assert!(complains(said), "{said}");
        }
        assert!(is_dead("Nach dem Aufwachen ist der Bildschirm schwarz und die Tastatur tot"));
    }

    #[test]
    fn what_is_no_complaint_is_none() {
        for said in [
            "Der Laptop geht in den Standby und ist nach dem Aufwachen sofort da",
            "Wacht der Rechner bei euch auch nicht aus dem Standby auf?",
            "Ich drücke eine Taste und das Notebook wacht sofort aus dem Standby auf",
            "La veille et le réveil sont rapides sur la machine",
            "Le problème est résolu, la machine ne se réveille plus toute seule en veille",
            "El portátil se suspende y se despierta en un segundo",
            "the laptop sleeps and wakes at once",
            "PM: suspend exit",
            "Der Bildschirm bleibt nach dem Aufwachen nicht mehr schwarz",
            "Mein Laptop hängt beim Aufwachen nicht mehr",
            "Der Akku wird im Standby nicht leer",
            "Ich hatte nie Probleme mit dem Standby",
            "Le portable ne plante plus à la sortie de veille",
            "La machine ne se bloque plus au réveil",
            "La batterie ne se vide pas en veille",
            "El portátil ya no se cuelga al suspender",
            "La batería no se agota al suspender",
        ] {
            assert!(!complains(said), "{said}");
        }
    }
}
