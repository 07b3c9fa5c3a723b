// Host names that resolve as a test says.
import dns from 'node:dns';
import { syncBuiltinESMExports } from 'node:module';

/** Names resolve as the test says, for as long as `act` runs; returns how often was asked. */
export async function withNames(addresses: string[], act: () => Promise<unknown>): Promise<number> {
  const { lookup } = dns;
  let asked = 0;
  const stub = (
    _host: string,
    _options: unknown,
    done: (error: null, all: { address: string; family: number }[]) => void,
  ) => {
    asked += 1;
    setImmediate(() =>
      done(
        null,
        addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
      ),
    );
  };
  Object.assign(dns, { lookup: stub });
  syncBuiltinESMExports();
  try {
    await act();
  } finally {
    Object.assign(dns, { lookup });
    syncBuiltinESMExports();
  }
  return asked;
}
