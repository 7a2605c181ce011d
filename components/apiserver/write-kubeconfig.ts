import { mkdirSync } from "node:fs"
import { dirname } from "node:path"
import { replaceFile } from "../../pkg/files/files.ts"
import { kubeconfigYaml } from "../../pkg/pki/kubeconfig.ts"
import type { ApiServerConfig } from "./apiserver-config.ts"
import { localUrl } from "./serving/local-url.ts"
import type { ServingFiles } from "./serving/serving.ts"

/** Writes the administrator's kubeconfig where the configuration says; nothing where it does not. */
export function writeKubeconfig(
  { kubeconfig, listen }: Pick<ApiServerConfig, "kubeconfig" | "listen">,
  { pki, admin }: ServingFiles,
  port: number,
): void {
  if (kubeconfig === undefined) return
  const { path, mode } = kubeconfig
  const server = localUrl(listen?.host, port)
  mkdirSync(dirname(path), { recursive: true })
  replaceFile(path, kubeconfigYaml({ server, caPem: pki.authorities["server-ca"].certPem, user: admin }), { mode })
}
