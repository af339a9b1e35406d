// Light, dark, or as the system says.

const NEXT: Record<string, string> = { auto: "light", light: "dark", dark: "auto" };

/** Makes `button` go through the three themes and calls `changed` after. */
export function theme(button: HTMLElement, changed: () => void): void {
  const root = document.documentElement;
  const show = (name: string): void => {
    root.dataset["theme"] = name;
    button.textContent = `Theme: ${name}`;
    changed();
  };
  button.addEventListener("click", () => show(NEXT[root.dataset["theme"] ?? "auto"] ?? "auto"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
  show("auto");
}
