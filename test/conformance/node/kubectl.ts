import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Kubectl } from "../../harness/kubectl.ts"
import type { TestNamespace } from "./namespace.ts"

/** Runs `body` with a kubectl that has its own home directory, and uses the cluster of a namespace. */
export async function withKubectl<T>(ns: TestNamespace, body: (kubectl: Kubectl) => Promise<T>): Promise<T> {
  const home = mkdtempSync(join(tmpdir(), "k3ts-kubectl-"))
  const kubeconfig = join(home, "config")
  writeFileSync(kubeconfig, ns.cluster.kubeconfig, { mode: 0o600 })
  try {
    return await body(new Kubectl({ kubeconfig, home }))
  } finally {
    rmSync(home, { recursive: true })
  }
}
