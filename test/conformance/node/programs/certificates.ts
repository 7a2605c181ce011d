import { createCa, issueCertificate } from "../../../../pkg/pki/certificate.ts"

/** The certificate and key of a server in a pod, and the CA that has signed it; all PEM. */
export interface ServerCertificate {
  readonly certPem: string
  readonly keyPem: string
  readonly caPem: string
}

/** A certificate for a name, valid for a day from yesterday on. */
export function serverCertificate(name: string): ServerCertificate {
  const validity = { notBefore: new Date(Date.now() - 86_400_000), notAfter: new Date(Date.now() + 86_400_000) }
  const ca = createCa({ commonName: "e2e-server-cert-ca", validity })
  const pair = issueCertificate(ca, {
    subject: { commonName: name, organizations: [] },
    validity,
    usages: ["server"],
    dnsNames: [name],
  })
  return { ...pair, caPem: ca.certPem }
}
