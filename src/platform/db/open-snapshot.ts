import type { Connection, Driver } from './driver.js';
import { statement } from './query.js';

/** A snapshot that stays open. */
interface OpenSnapshot {
  readonly connection: Connection;
  release(): Promise<void>;
}

/** Opens a snapshot that stays open until it is released. */
export async function openSnapshot(driver: Driver): Promise<OpenSnapshot> {
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  return new Promise((resolve, reject) => {
    const snapshot: Promise<void> = driver.snapshot(async (connection) => {
      if (driver.dialect === 'postgres')
        // A slow target may take long between two reads.
        await connection.all(
          statement(
            "select set_config('idle_in_transaction_session_timeout', '0', true), set_config('statement_timeout', '0', true)",
          ),
        );
      resolve({
        connection,
        release: () => {
          end();
          return snapshot;
        },
      });
      await ended;
    });
    snapshot.catch(reject);
  });
}
