import type { Volume } from "../../../pkg/api/core/v1/volume/volume.ts"
import { configMapContents } from "./types/config-map.ts"
import type { Contents } from "./contents.ts"
import { downwardApiContents } from "./types/downward-api.ts"
import { projectedContents } from "./types/projected.ts"
import { secretContents } from "./types/secret.ts"

/** Returns what the volume takes from the API; undefined for a volume that mount-volume.ts mounts. */
export function contentsIn({ configMap, secret, downwardAPI, projected }: Volume): Contents | undefined {
  if (configMap !== undefined) return configMapContents(configMap, configMap.defaultMode)
  if (secret !== undefined) return secretContents({ ...secret, name: secret.secretName ?? "" }, secret.defaultMode)
  if (downwardAPI !== undefined) return downwardApiContents(downwardAPI.items, downwardAPI.defaultMode)
  return projected === undefined ? undefined : projectedContents(projected)
}
