// Building elements. Text always goes through text nodes, so nothing that
// comes from a log can become markup.

type Child = Node | string | null;
type Attributes = Record<string, string | number | boolean | null>;

function fill(element: Element, attributes: Attributes, children: Child[]): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === false) continue;
    element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children) if (child !== null) element.append(child);
}

/** An HTML element. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  fill(element, attributes, children);
  return element;
}

/** An SVG element. */
export function s<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  fill(element, attributes, children);
  return element;
}

/** A button that calls `action`. */
export function button(label: string, action: () => void, attributes: Attributes = {}): HTMLButtonElement {
  const element = h("button", { type: "button", ...attributes }, label);
  element.addEventListener("click", action);
  return element;
}

/** The element with this id, which the page's own skeleton has. */
export function byId(id: string): HTMLElement {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page has no element #${id}`);
  return element;
}

/** Copies `text` and says so on `source` for a moment. */
export async function copy(text: string, source: HTMLButtonElement): Promise<void> {
  source.dataset["copied"] = text;
  let done = true;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // A page from disk may have no clipboard: fall back to a selection.
    const area = h("textarea", { "aria-hidden": "true", class: "offscreen" });
    area.value = text;
    document.body.append(area);
    area.select();
    done = document.execCommand("copy");
    area.remove();
  }
  const before = source.textContent ?? "";
  source.textContent = done ? "Copied" : "Not copied: select and copy by hand";
  setTimeout(() => (source.textContent = before), 1500);
}
