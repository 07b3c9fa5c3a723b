/** Who mails come from. */
export interface Sender {
  /** May be empty. */
  readonly name: string;
  readonly address: string;
}

/** Whether a text is one plain address, with nothing in it that means something in a header. */
export function isMailAddress(text: string): boolean {
  return /^[^\s\p{Cc}@<>()[\]\\,;:"]+@[^\s\p{Cc}@<>()[\]\\,;:"]+$/u.test(text);
}

/** Reads `ADDRESS` or `Name <ADDRESS>`; undefined where it is neither. */
export function parseSender(text: string): Sender | undefined {
  const [, quoted, plain = '', inner, bare] =
    /^\s*(?:(?:"([^"<>]*)"|([^"<>]*?))\s*<([^<>]+)>|([^<>\s]+))\s*$/.exec(text) ?? [];
  const address = inner ?? bare ?? '';
  const name = quoted ?? plain;
  return isMailAddress(address) && !/\p{Cc}/u.test(name) ? { name, address } : undefined;
}
