export function packed(bytes: Uint8Array): Promise<string>;
export function letters(bytes: Uint8Array): string;
