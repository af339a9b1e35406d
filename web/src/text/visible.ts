// Names come from logs and may hold anything. They reach the page as text
// only; here they are also made readable: characters that are invisible or
// that turn the direction of writing are shown by number.

// Control characters, bidirectional controls, zero-width characters, line and
// paragraph separators, byte order mark, lone surrogates.
const HIDDEN =
  /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/gu;

/** The longest name shown in full. */
const LONGEST = 160;

/** `text` with nothing hidden in it. */
export function reveal(text: string): string {
  return text.replace(HIDDEN, (c) => `\\u{${c.codePointAt(0)?.toString(16) ?? "?"}}`);
}

/** A name for display: nothing hidden, and at most 160 characters. */
export function visible(name: string): string {
  if (name.length <= LONGEST) return reveal(name);
  return `${reveal(name.slice(0, LONGEST))}… (${name.length} characters)`;
}

/** A name for a shell command line: quoted if it needs to be. */
export function shellQuote(word: string): string {
  return /^[A-Za-z0-9_@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** A cell of a Markdown table. */
export function markdownCell(text: string): string {
  return visible(text).replaceAll("\\", "\\\\").replaceAll("|", "\\|").replaceAll("<", "&lt;").replaceAll("`", "\\`");
}
