/**
 * Whom TLS trusts is decided in one place, by Go's rules, which users know (pkg/pki/trust.ts): a bundle that is handed
 * to the runtime as it is would not be trusted where it is an intermediate authority or the server's own certificate,
 * and without a bundle the runtime trusts a list of its own instead of the system's.
 */
import { isTest, lineAt } from "./source.ts"
import type { SourceFile, Violation } from "./source.ts"

const OWNER = "pkg/pki/trust.ts"
const ROOMS = /^(?:cmd|components|pkg)\//
/** Modules that open or accept connections over TLS. */
const TLS_MODULES = /(?:from|import)\s*\(?\s*"(?:node:tls|node:https|node:http2|pg|@grpc\/grpc-js)"/
const PATTERN =
  /\brootCertificates\b|\ballowPartialTrustChain\b|\bcreateSsl\s*\(|(?<!readonly )\bca: (?!string)|\{ ca \}/g

export const trustViolations = (files: readonly SourceFile[]): readonly Violation[] =>
  files
    .filter(({ path, text }) => path !== OWNER && ROOMS.test(path) && !isTest(path) && TLS_MODULES.test(text))
    .flatMap(({ path, text, code }) =>
      [...code.matchAll(PATTERN)].map(({ 0: match, index }) => ({
        path,
        line: lineAt(text, index),
        message: `\`${match}\` says whom TLS trusts`,
        mend: "use trusting(), trustingOnly() or trustingBundle() of pkg/pki/trust.ts",
      })),
    )
