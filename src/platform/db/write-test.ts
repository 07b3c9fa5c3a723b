import type { Driver } from './driver.js';
import { statement } from './query.js';

/** Milliseconds that the test write waits for other writes. */
const writeWaitMs = 2000;

/** Thrown to roll back the test write. */
class TakenBack extends Error {}

/** Begins a transaction that writes, and rolls it back. Throws DatabaseError. */
export async function testWrite(driver: Driver): Promise<void> {
  try {
    await driver.transact(async (connection) => {
      // SQLite also begins a transaction on a read-only file.
      if (driver.dialect === 'sqlite') await connection.run(statement('create table write_check (id)'));
      throw new TakenBack();
    }, performance.now() + writeWaitMs);
  } catch (error) {
    if (!(error instanceof TakenBack)) throw error;
  }
}
