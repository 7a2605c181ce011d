import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import type { Random } from "../../../pkg/clock/random.ts"
import { seededRandom } from "../../../pkg/clock/random.ts"
import type { ValueTransformer } from "../../../pkg/storage/value-transformer.ts"
import type { EncryptionMetrics } from "./encryption-metrics.ts"
import { parseEncryptionConfiguration } from "./configuration.ts"
import { transformerOf } from "./transformer.ts"

/** A key of as many bytes, as base64. */
export const secret = (bytes: number, seed = 1): string =>
  Buffer.from(seededRandom(seed).bytes(bytes)).toString("base64")

export const PROVIDERS = ["aesgcm", "aescbc", "secretbox"] as const

/** Returns the transformer for Secrets with these providers, in the order of a configuration file. */
export const transformerFor = (
  providers: readonly object[],
  {
    resources = ["secrets"],
    random = seededRandom(7),
    metrics,
  }: { resources?: readonly string[]; random?: Random; metrics?: EncryptionMetrics } = {},
): Promise<ValueTransformer> =>
  transformerOf(
    parseEncryptionConfiguration(
      JSON.stringify({
        kind: "EncryptionConfiguration",
        apiVersion: "apiserver.config.k8s.io/v1",
        resources: [{ resources, providers }],
      }),
      "test",
    ),
    {
      random,
      metrics,
      kms: () => {
        throw new Error("no plugin in this test")
      },
    },
  )

/** The files below a folder that hold these bytes anywhere. */
export function filesWith(folder: string, bytes: string): readonly string[] {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  return files
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((path) => readFileSync(path).includes(bytes))
}
