import { hostname } from "node:os"
import type { Registry } from "../../../pkg/metrics/registry.ts"
import type { ValueTransformer } from "../../../pkg/storage/value-transformer.ts"
import { EncryptionMetrics } from "./encryption-metrics.ts"
import type { EncryptionTools } from "./encryption-tools.ts"
import type { KmsPlugin } from "./kms/plugin.ts"
import { configurationText, configured, loadEncryption, loadSharedEncryption } from "./load.ts"
import type { EncryptionConfig, Loaded } from "./load.ts"
import { Reloading } from "./reloading.ts"

export interface MeteredTools extends EncryptionTools {
  /** Has the metrics; none are kept without it. */
  readonly registry?: Registry | undefined
}

/** What encrypts the values of a store while that is open. */
export interface OpenEncryption {
  /** Undefined where values are written as they are. */
  readonly transformer: ValueTransformer | undefined
  /** The KMS plugins that hold keys now. */
  readonly plugins: () => readonly KmsPlugin[]
  /** Whether some plugin may hold keys, now or after a change of the file. */
  readonly hasPlugins: boolean
  /** Begins to follow the configuration file, where that is wanted. The store must be open. */
  follow(): void
  stop(): Promise<void>
}

/** The same with the metrics of encryption. */
export const metered = ({ registry, ...tools }: MeteredTools): EncryptionTools => ({
  ...tools,
  metrics: registry && new EncryptionMetrics(registry, tools.clock, `apiserver-${hostname()}`),
})

/**
 * Returns what encrypts the store of this server.
 * @param learnKeys has plugins decrypt the keys of all values on the disk
 */
export async function openEncryption(
  dir: string,
  config: EncryptionConfig,
  tools: EncryptionTools,
  learnKeys: (plugins: readonly KmsPlugin[]) => Promise<void>,
): Promise<OpenEncryption> {
  const loaded = await loadEncryption(dir, config, tools)
  return following(config, loaded, tools, {
    load: (text) => configured(text, config.file!, tools),
    learnKeys,
  })
}

/**
 * Returns what encrypts a store that several servers share, and the content of its file.
 * @param agree is called with a changed content; the last good one holds where it throws
 */
export async function openSharedEncryption(
  config: EncryptionConfig & { readonly file: string },
  tools: EncryptionTools,
  agree: (text: string) => Promise<void>,
): Promise<OpenEncryption & { readonly text: string }> {
  const text = configurationText(config.file)
  const load = (content: string) => loadSharedEncryption(content, config.file, tools)
  const opened = following(config, await load(text), tools, {
    async load(content) {
      const loaded = await load(content)
      await agree(content)
      return loaded
    },
    learnKeys: () => Promise.resolve(),
  })
  return { ...opened, text }
}

function following(
  { file, isReloaded = false }: EncryptionConfig,
  loaded: Loaded | undefined,
  tools: EncryptionTools,
  parts: Pick<ConstructorParameters<typeof Reloading>[0], "load" | "learnKeys">,
): OpenEncryption {
  const reloading =
    loaded === undefined || file === undefined || !isReloaded
      ? undefined
      : new Reloading({ ...tools, ...parts, file }, loaded)
  const plugins = () => (reloading ?? loaded)?.plugins ?? []
  return {
    transformer: reloading ?? loaded?.transformer,
    plugins,
    hasPlugins: reloading !== undefined || plugins().length > 0,
    follow: () => reloading?.start(),
    async stop() {
      await reloading?.stop()
      for (const plugin of plugins()) plugin.close()
    },
  }
}
