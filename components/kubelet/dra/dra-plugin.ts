import type { Channel } from "../../../pkg/cri/channel.ts"
import { CriError } from "../../../pkg/cri/errors.ts"
import type { PluginInfo } from "../plugins/registration-service.ts"
import type { DraDriver } from "./dra-driver.ts"
import { DRA_SERVICES, type DraClaim, type DraDevice, type DraServiceName } from "./dra-service.ts"
import type { HealthWatch } from "./health-watch.ts"

/**
 * The longest time for one call to a plugin. Source: pkg/kubelet/cm/dra/plugin/dra_plugin.go defaultClientCallTimeout.
 */
const CALL_MS = 45_000

/**
 * One registered plugin of a driver. Source: pkg/kubelet/cm/dra/plugin/dra_plugin.go; manager.go for the checks of
 * responses.
 */
export class DraPlugin implements DraDriver {
  /** Whether the connection to the plugin's socket is open. */
  connected = false
  readonly endpoint: string
  readonly #channel: Channel
  readonly #service: (typeof DRA_SERVICES)[DraServiceName]
  readonly #health: HealthWatch

  constructor(info: PluginInfo, channel: Channel, health: HealthWatch, connectionChanged: () => void) {
    this.endpoint = info.endpoint
    this.#channel = channel
    this.#health = health
    this.#service = DRA_SERVICES[chosenService(info)]
    channel.followConnection((connected) => {
      if (connected === this.connected) return
      this.connected = connected
      health.connection(connected)
      connectionChanged()
    })
  }

  async prepare(claims: readonly DraClaim[]): Promise<ReadonlyMap<string, readonly DraDevice[]>> {
    const call = "NodePrepareResources"
    const answer = await answered(call, this.#channel.call(this.#service.prepare, { claims }, { timeoutMs: CALL_MS }))
    check(call, claims, answer.claims)
    return new Map(Object.entries(answer.claims).map(([uid, { devices }]) => [uid, devices]))
  }

  async unprepare(claims: readonly DraClaim[]): Promise<void> {
    const call = "NodeUnprepareResources"
    const answer = await answered(call, this.#channel.call(this.#service.unprepare, { claims }, { timeoutMs: CALL_MS }))
    check(call, claims, answer.claims)
  }

  /** Whether the plugin tells the health of its devices at present. */
  get tellsHealth(): boolean {
    return this.#health.hasReported
  }

  close(): void {
    this.#health.stop()
    this.#channel.close()
  }
}

/**
 * Returns the first service of the plugin that the kubelet supports. Source: dra_plugin_manager.go
 * validateSupportedServices. @throws Error when the plugin has none
 */
export function chosenService({ name, endpoint, supportedVersions }: PluginInfo): DraServiceName {
  const found = supportedVersions.find((version): version is DraServiceName => Object.hasOwn(DRA_SERVICES, version))
  if (found !== undefined) return found
  const problem =
    supportedVersions.length === 0
      ? "empty list of supported gRPC services (aka supported versions)"
      : `none of services supported by the plugin (${quoted(supportedVersions)}) are supported by the kubelet ` +
        `(${quoted(Object.keys(DRA_SERVICES))})`
  throw new Error(`invalid supported gRPC versions of DRA driver plugin ${name} at endpoint ${endpoint}: ${problem}`)
}

const quoted = (names: readonly string[]): string => `[${names.map((name) => JSON.stringify(name)).join(" ")}]`

async function answered<T>(call: string, answer: Promise<T>): Promise<T> {
  try {
    return await answer
  } catch (err) {
    if (!(err instanceof CriError)) throw err
    throw new Error(`${call}: rpc error: code = ${err.code} desc = ${err.message}`, { cause: err })
  }
}

/** Checks that the response has a result without error for each claim. @throws Error */
function check(
  call: string,
  claims: readonly DraClaim[],
  answers: Readonly<Record<string, { readonly error: string }>>,
): void {
  for (const [uid, { error }] of Object.entries(answers)) {
    const claim = claims.find((asked) => asked.uid === uid)
    if (claim === undefined) throw new Error(`${call} returned result for unknown claim UID ${uid}`)
    if (error !== "") throw new Error(`${call} failed for ResourceClaim ${claim.name}: ${error}`)
  }
  const skipped = claims.length - Object.keys(answers).length
  if (skipped !== 0) throw new Error(`${call} skipped ${skipped} ResourceClaims`)
}
