// The package's own types declare named exports; its module has one default export.
declare module 'scrypt-kdf' {
  interface Parameters {
    logN: number;
    r: number;
    p: number;
  }
  const Scrypt: {
    kdf(passphrase: string | Uint8Array, parameters: Parameters): Promise<Uint8Array>;
    verify(key: Uint8Array, passphrase: string | Uint8Array): Promise<boolean>;
    viewParams(key: Uint8Array): Parameters;
  };
  export default Scrypt;
}
