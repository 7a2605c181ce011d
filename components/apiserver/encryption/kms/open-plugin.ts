import { openChannel } from "../../../../pkg/cri/channel.ts"
import { parseDuration } from "../../../../pkg/apimachinery/scalars/time.ts"
import type { KmsConfiguration } from "../configuration.ts"
import type { EncryptionTools } from "../encryption-tools.ts"
import { building } from "../transformer.ts"
import { KmsPlugin } from "./plugin.ts"

/** The plugin behind the unix socket of a configuration. @throws Error for version 1, which upstream has off too */
export function openPlugin(
  { name, endpoint, timeout, apiVersion }: KmsConfiguration,
  tools: EncryptionTools,
): KmsPlugin {
  if (apiVersion === "v1")
    throw building(
      "KMSv1 is deprecated and will only receive security updates going forward. Use KMSv2 instead: set apiVersion: " +
        `v2 for the provider ${name}`,
    )
  // As upstream: `unix:///run/kms.sock`, and `unix://@name` for a socket without a file.
  const { clock } = tools
  return new KmsPlugin({
    name,
    channel: openChannel(endpoint.slice("unix://".length), clock),
    timeoutMs: parseDuration(timeout)!,
    ...tools,
  })
}
