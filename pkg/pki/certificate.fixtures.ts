import { createCa } from "./certificate.ts"

/** Returns the certificate of a new authority, as PEM. */
export const newAuthority = (commonName: string): string =>
  createCa({
    commonName,
    validity: { notBefore: new Date(Date.UTC(2026, 0)), notAfter: new Date(Date.UTC(2036, 0)) },
  }).certPem
