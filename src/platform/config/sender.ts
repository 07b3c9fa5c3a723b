/** Sender of mails. */
export interface Sender {
  /** May be empty. */
  readonly name: string;
  readonly address: string;
}

/** True if the text is one plain address, without characters that have a meaning in a header. */
export function isMailAddress(text: string): boolean {
  return /^[^\s\p{Cc}@<>()[\]\\,;:"]+@[^\s\p{Cc}@<>()[\]\\,;:"]+$/u.test(text);
}

/** Parses `ADDRESS` or `Name <ADDRESS>`; undefined for anything else. */
export function parseSender(text: string): Sender | undefined {
  const [, quoted, plain = '', inner, bare] =
    /^\s*(?:(?:"([^"<>]*)"|([^"<>]*?))\s*<([^<>]+)>|([^<>\s]+))\s*$/.exec(text) ?? [];
  const address = inner ?? bare ?? '';
  const name = quoted ?? plain;
  return isMailAddress(address) && !/\p{Cc}/u.test(name) ? { name, address } : undefined;
}
