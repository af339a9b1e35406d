// Colours of phases: after Okabe and Ito, so that they differ for every kind of
// colour vision. The same on light and dark; text on them is chosen to suit.

export interface Paint {
  fill: string;
  text: string;
}

const DARK = "#1a1a1a";
const LIGHT = "#ffffff";

const BY_NAME: Record<string, Paint> = {
  "suspend prepare": { fill: "#999999", text: DARK },
  "suspend suspend": { fill: "#d55e00", text: DARK },
  "suspend late": { fill: "#e69f00", text: DARK },
  "suspend noirq": { fill: "#f0e442", text: DARK },
  "resume noirq": { fill: "#56b4e9", text: DARK },
  "resume early": { fill: "#009e73", text: DARK },
  "resume resume": { fill: "#0072b2", text: LIGHT },
  "resume complete": { fill: "#cc79a7", text: DARK },
};

/** Phases without devices, gaps: neutral. */
const OTHER: Paint = { fill: "#b9b4a8", text: DARK };
const GAP: Paint = { fill: "#dcd8ce", text: DARK };

/** The paint of a phase; `null` for a gap. */
export function paint(phase: { name: string; direction: string } | undefined): Paint {
  if (!phase) return GAP;
  return BY_NAME[`${phase.direction} ${phase.name}`] ?? OTHER;
}

/** Colours of the canvas that follow light and dark. */
export interface Ink {
  page: string;
  row: string;
  rule: string;
  text: string;
  faint: string;
  path: string;
  select: string;
  superior: string;
  subordinate: string;
  match: string;
}

/** Reads the colours of the current theme from the style sheet. */
export function ink(): Ink {
  const style = getComputedStyle(document.documentElement);
  const get = (name: string): string => style.getPropertyValue(name).trim();
  return {
    page: get("--panel"),
    row: get("--row"),
    rule: get("--rule"),
    text: get("--text"),
    faint: get("--faint"),
    path: get("--path"),
    select: get("--select"),
    superior: get("--superior"),
    subordinate: get("--subordinate"),
    match: get("--match"),
  };
}
