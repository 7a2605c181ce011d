import { noSuchMethod } from "../call/subresource-verbs.ts"
import { ApiError } from "../../../pkg/apimachinery/errors.ts"
import type { Exchange } from "../call/exchange.ts"
import type { RequestInfo } from "../call/request-info.ts"
import type { SecretsEncryption } from "./secrets-encryption.ts"

const STATUS = "/v1-k3ts/encrypt/status"
const CONFIG = "/v1-k3ts/encrypt/config"

/**
 * Serves the paths of `k3ts secrets-encrypt`, as k3s does: `GET /v1-k3ts/encrypt/status`, and
 * `PUT /v1-k3ts/encrypt/config?change=…`. They need rights on these paths, which administrators have. Differs from k3s:
 * what to change stands in the query.
 */
export function secretsEncryptionPaths(encryption: (() => Promise<SecretsEncryption>) | undefined) {
  return (exchange: Exchange, info: RequestInfo): Promise<void> | undefined => {
    if (encryption === undefined || (info.path !== STATUS && info.path !== CONFIG)) return undefined
    if (info.verb !== (info.path === STATUS ? "get" : "put")) throw noSuchMethod()
    return answer(exchange, info, encryption)
  }
}

async function answer(
  exchange: Exchange,
  info: RequestInfo,
  encryption: () => Promise<SecretsEncryption>,
): Promise<void> {
  const one = await encryption()
  if (info.path === CONFIG) await change(one, info.query.get("change") ?? "")
  exchange.sendJson(200, one.status())
}

function change(encryption: SecretsEncryption, wanted: string): Promise<void> | void {
  if (wanted === "enable") return encryption.enable()
  if (wanted === "disable") return encryption.disable()
  if (wanted === "rotate-keys") return encryption.rotateKeys()
  if (wanted === "reencrypt") return encryption.reencrypt()
  throw new ApiError(
    "BadRequest",
    `change: invalid value ${JSON.stringify(wanted)}: must be enable, disable, rotate-keys or reencrypt`,
  )
}
