/**
 * The certificates that an administrator gives for the API server's port, read again when their files change. Source of
 * the behaviour: apiserver pkg/server/dynamiccertificates dynamic_serving_content.go.
 */
import { dirname } from "node:path"
import { ConfigurationError } from "../../../../pkg/config-file/config-file.ts"
import type { Clock, Timer } from "../../../../pkg/clock/clock.ts"
import { errorMessage } from "../../../../pkg/errors/error-message.ts"
import type { Logger } from "../../../../pkg/log/log.ts"
import { watchFolder } from "../../../../pkg/process/watch-folder.ts"
import type { CertificateChoice } from "../../../../pkg/runtime/http/certificate-choice.ts"
import { certificateTable } from "./certificate-table.ts"
import type { GivenCertificatesConfig } from "./config.ts"
import { readServingPair, type PairFiles, type ServingPair } from "./serving-pair.ts"

/** Certificate and key are written one after the other: they are read when both have been silent for so long, in ms. */
const SETTLE_MS = 200
/** How often the files are read although nothing was heard of them, in ms: a folder may be a link that has changed. */
const LOOK_MS = 60_000

export interface GivenCertificatesOptions {
  readonly config: GivenCertificatesConfig
  /** Names that agents and pods ask for, who trust the cluster's authority alone. */
  readonly reserved: readonly string[]
  /** The names of the cluster's own certificate. */
  readonly own: readonly string[]
  readonly clock: Clock
  readonly log: Logger
}

export interface GivenCertificates {
  readonly choice: CertificateChoice
  /** Ends what follows the files. */
  stop(): void
}

/** Reads all files. @throws ConfigurationError that names a flag, or a file, what is wrong and the mend */
export function readGivenCertificates(config: GivenCertificatesConfig): readonly ServingPair[] {
  const { usual, named } = config
  return [
    ...(usual === undefined ? [] : [readNamed("--tls-cert-file", usual)]),
    ...named.map((files) => readNamed("--tls-sni-cert-key", files)),
  ]
}

/** Reads the files and follows them from now on. @throws ConfigurationError */
export function openGivenCertificates(options: GivenCertificatesOptions): GivenCertificates {
  const { config, reserved, own, clock, log } = options
  refuseReserved(config, reserved)
  const slots = [...(config.usual === undefined ? [] : [config.usual]), ...config.named]
  const pairs = [...readGivenCertificates(config)]
  const built = () => {
    const given = pairs.slice(config.usual === undefined ? 0 : 1)
    return certificateTable({
      usual: config.usual === undefined ? undefined : pairs[0],
      named: config.named.map(({ patterns }, i) => ({ pair: given[i]!, patterns })),
      reserved: new Set(reserved),
      own,
    })
  }
  let table = built()

  const ends = slots.map((files, i) =>
    followPair(files, pairs[i]!, { clock, log }, (changed) => {
      pairs[i] = changed
      table = built()
    }),
  )
  return {
    choice: (name) => table(name),
    stop() {
      for (const end of ends) end()
    },
  }
}

/** Returns the names that keep the cluster's own certificate. */
export const reservedNames = (clusterDomain: string): readonly string[] => {
  const service = "kubernetes.default.svc"
  return ["kubernetes", "kubernetes.default", service, `${service}.${clusterDomain}`]
}

/** @throws ConfigurationError where a certificate is given for a reserved name */
export function refuseReserved(config: GivenCertificatesConfig, reserved: readonly string[]): void {
  for (const { certFile, patterns } of config.named) {
    const pattern = patterns.find((one) => reserved.includes(one.toLowerCase()))
    if (pattern !== undefined)
      throw new ConfigurationError(
        `--tls-sni-cert-key ${certFile}: ${pattern} keeps the cluster's own certificate, since agents and pods ask ` +
          "for that name and trust the cluster's authority: leave it out, and give your clients another name",
      )
  }
}

function readNamed(flag: string, files: PairFiles): ServingPair {
  try {
    return readServingPair(files)
  } catch (err) {
    throw new ConfigurationError(`${flag}: ${errorMessage(err)}`, { cause: err })
  }
}

/** Calls `use` with each valid content of two files that differs from the one before. Returns the function that ends it. */
function followPair(
  files: PairFiles,
  first: ServingPair,
  { clock, log }: Pick<GivenCertificatesOptions, "clock" | "log">,
  use: (pair: ServingPair) => void,
): () => void {
  const { certFile, keyFile } = files
  let inUse = first
  let told: string | undefined
  let timer: Timer | undefined

  const lookIn = (ms: number, purpose?: "upkeep"): void => {
    timer?.cancel()
    timer = clock.setTimeout(look, ms, purpose)
  }
  function look(): void {
    try {
      const found = readServingPair(files)
      told = undefined
      if (found.cert !== inUse.cert || found.key !== inUse.key) {
        inUse = found
        use(found)
        log.info("Loaded the changed serving certificate", { certFile, keyFile })
      }
    } catch (error) {
      const message = errorMessage(error)
      if (message !== told)
        log.error("Failed to load the changed serving certificate; the last valid one applies", {
          certFile,
          keyFile,
          error,
        })
      told = message
    }
    lookIn(LOOK_MS, "upkeep")
  }

  const folders = new Set([certFile, keyFile].map((file) => dirname(file)))
  const ends = [...folders].map((folder) => watchFolder(folder, () => lookIn(SETTLE_MS), { clock, mode: 0o700 }))
  lookIn(LOOK_MS, "upkeep")
  return () => {
    for (const end of ends) end()
    timer?.cancel()
  }
}
