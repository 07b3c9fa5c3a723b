/** Something that is done again and again while a server runs. */
export interface Job {
  readonly name: string;
  readonly schedule: string;
  readonly summary: string;
  readonly lease: 'process' | 'database';
  run(signal: AbortSignal): Promise<void>;
}
