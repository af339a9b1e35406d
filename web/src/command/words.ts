// A command line as words, and words as a command line.

/** Words as a shell takes them apart: blanks, quotes and backslashes, and nothing else. */
export function split(line: string): string[] {
  const words: string[] = [];
  let word: string | null = null;
  let quote = "";
  for (let i = 0; i < line.length; i++) {
    const c = line.charAt(i);
    if (quote) {
      if (c === quote) quote = "";
      else if (c === "\\" && quote === '"') word += line.charAt(++i);
      else word += c;
    } else if (c === "'" || c === '"') [quote, word] = [c, word ?? ""];
    else if (c === "\\") word = (word ?? "") + line.charAt(++i);
    else if (/\s/.test(c)) {
      if (word !== null) words.push(word);
      word = null;
    } else word = (word ?? "") + c;
  }
  if (word !== null) words.push(word);
  return words;
}

/** Words as they are typed. */
export function typed(words: string[]): string {
  return words.map((w) => (/^[\w@%+=:,./-]+$/.test(w) ? w : `'${w.replaceAll("'", "'\\''")}'`)).join(" ");
}
