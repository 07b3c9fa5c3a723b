/** An answer that is JSON text already; what a database has printed is not parsed only to be printed again. */
export class RawJson {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}
