export function packed(bytes: Uint8Array): Promise<Uint8Array>;
export function letters(bytes: Uint8Array): string;
