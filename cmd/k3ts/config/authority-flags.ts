import { X509Certificate } from "node:crypto"
import { readFileSync } from "node:fs"
import type { ApiServerConfig } from "../../../components/apiserver/apiserver-config.ts"
import type { FrontProxy } from "../../../components/apiserver/serving/further-authorities.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"
import { splitPem } from "../../../pkg/pki/verify.ts"
import { notEmpty } from "../cli/flag-type.ts"
import { list, value, type FlagsOf } from "../cli/flags.ts"
import { UsageError } from "../cli/usage-error.ts"
import * as v from "../cli/values.ts"

const header = (summary: string, usual: string) => list(notEmpty, summary, { placeholder: "NAME", defaultText: usual })

/** The flags about client certificates of others, under upstream's names. Source: apiserver pkg/server/options. */
export const authorityFlags = {
  "client-ca-file": value(
    v.fileToRead.optional(),
    "Authorities whose client certificates are users too, beside the cluster's own",
    { placeholder: "FILE", path: true },
  ),
  "requestheader-client-ca-file": value(
    v.fileToRead.optional(),
    "Authorities of a front proxy, which names the users of its requests in headers",
    { placeholder: "FILE", path: true },
  ),
  "requestheader-allowed-names": list(notEmpty, "Common name that the front proxy's certificate may have", {
    placeholder: "NAME",
    defaultText: "any",
  }),
  "requestheader-username-headers": header("Header with the user's name", "X-Remote-User"),
  "requestheader-group-headers": header("Header with the user's groups", "X-Remote-Group"),
  "requestheader-uid-headers": header("Header with the user's uid", "X-Remote-Uid"),
  "requestheader-extra-headers-prefix": header("Beginning of headers with further attributes", "X-Remote-Extra-"),
} as const
type AuthorityFlags = FlagsOf<typeof authorityFlags>

/** Returns what the flags say about certificates of others. @throws UsageError for a file that cannot be used */
export function furtherAuthoritiesOf(flags: AuthorityFlags): Pick<ApiServerConfig, "furtherAuthorities"> {
  const clientCaPem = certificatesIn("client-ca-file", flags)
  const frontProxy = frontProxyOf(flags)
  if (clientCaPem === undefined && frontProxy === undefined) return {}
  const own = new Set(fingerprintsOf(clientCaPem ?? ""))
  if (frontProxy?.allowedNames.length === 0 && fingerprintsOf(frontProxy.caPem).some((one) => own.has(one)))
    throw new UsageError(
      "--requestheader-client-ca-file and --client-ca-file have an authority in common: name the front proxy with " +
        "--requestheader-allowed-names, or every user could act as any other",
    )
  return { furtherAuthorities: { clientCaPem, frontProxy } }
}

function frontProxyOf(flags: AuthorityFlags): FrontProxy | undefined {
  const caPem = certificatesIn("requestheader-client-ca-file", flags)
  if (caPem === undefined) {
    const [given] = Object.entries(flags).flatMap(([name, set]) =>
      name.startsWith("requestheader-") && Array.isArray(set) && set.length > 0 ? [name] : [],
    )
    if (given !== undefined) throw new UsageError(`--${given} needs --requestheader-client-ca-file`)
    return undefined
  }
  const names = (
    flag: (keyof AuthorityFlags & `requestheader-${string}s`) | "requestheader-extra-headers-prefix",
    usual: string,
  ) => {
    const given = flags[flag] as readonly string[]
    return (given.length === 0 ? [usual] : given).map((name) => name.toLowerCase())
  }
  return {
    caPem,
    allowedNames: flags["requestheader-allowed-names"],
    headers: {
      username: names("requestheader-username-headers", "x-remote-user"),
      group: names("requestheader-group-headers", "x-remote-group"),
      uid: names("requestheader-uid-headers", "x-remote-uid"),
      extraPrefix: names("requestheader-extra-headers-prefix", "x-remote-extra-"),
    },
  }
}

function certificatesIn(
  flag: "client-ca-file" | "requestheader-client-ca-file",
  flags: AuthorityFlags,
): string | undefined {
  const file = flags[flag]
  if (file === undefined) return undefined
  let pem: string
  try {
    pem = readFileSync(file, "utf8")
  } catch (err) {
    throw new UsageError(`--${flag} ${file} cannot be read: ${errorMessage(err)}`)
  }
  try {
    if (fingerprintsOf(pem).length > 0) return pem
  } catch (err) {
    throw new UsageError(`--${flag} ${file} has a certificate that cannot be read: ${errorMessage(err)}`)
  }
  throw new UsageError(`--${flag} ${file} has no certificate in PEM`)
}

/** Returns what tells the certificates of a bundle apart, however they are written. @throws Error for one that is none */
const fingerprintsOf = (pem: string): readonly string[] =>
  splitPem(pem).map((one) => new X509Certificate(one).fingerprint256)
