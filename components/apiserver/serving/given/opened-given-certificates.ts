import { X509Certificate } from "node:crypto"
import { isIP } from "node:net"
import type { Clock } from "../../../../pkg/clock/clock.ts"
import { namesIn } from "../../../../pkg/api/coordination/v1/server-lease.ts"
import type { Logger } from "../../../../pkg/log/log.ts"
import type { GivenCertificatesConfig } from "./config.ts"
import type { ServingFiles } from "../serving.ts"
import type { GivenCertificates } from "./given-certificates.ts"

export type { GivenCertificates } from "./given-certificates.ts"

interface Given {
  readonly givenCertificates?: GivenCertificatesConfig | undefined
  readonly clusterDomain: string
}

interface Place {
  readonly files: Pick<ServingFiles, "serving">
  readonly clock: Clock
  readonly log: Logger
}

/** Reads the administrator's certificates; loads nothing where none are given. @throws ConfigurationError */
export async function openedGivenCertificates(
  { givenCertificates: config, clusterDomain }: Given,
  { files, clock, log }: Place,
): Promise<GivenCertificates | undefined> {
  if (config === undefined) return undefined
  const { openGivenCertificates, reservedNames } = await import("./given-certificates.ts")
  const { subjectAltName = "" } = new X509Certificate(files.serving.certPem)
  return openGivenCertificates({
    config,
    reserved: reservedNames(clusterDomain),
    own: namesIn(subjectAltName).filter((name) => isIP(name) === 0),
    clock,
    log,
  })
}
