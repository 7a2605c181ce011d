import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { startCluster, type Cluster } from "../../components/cluster/testing/testing.ts"

describe("kubectl in a shell", () => {
  let cluster: Cluster
  beforeAll(async () => {
    cluster = await startCluster({ nodes: 1 })
    await cluster.apply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n")
  })
  afterAll(() => cluster.stop())

  /** The words that are proposed, without descriptions, and the directive for the shell. */
  const proposed = async (...words: readonly string[]): Promise<readonly string[]> => {
    const { stdout } = await cluster.kubectl(["__complete", ...words])
    return stdout
      .trimEnd()
      .split("\n")
      .map((line) => line.split("\t")[0]!)
  }

  test.each<{ words: string[]; want: string[] }>([
    { words: ["get", "configmaps", ""], want: ["kube-root-ca.crt", "web", ":4"] },
    { words: ["get", "cm/w"], want: ["cm/web", ":4"] },
    { words: ["get", "pods,conf"], want: ["pods,configmaps", ":4"] },
    { words: ["get", "-o", "cu"], want: ["custom-columns", "custom-columns-file", ":4"] },
    { words: ["get", "--namespace=kube-p"], want: ["kube-public", ":4"] },
    { words: ["get", "--output-w"], want: ["--output-watch-events", ":4"] },
    { words: ["config", "use-context", ""], want: ["k3ts-testing", ":4"] },
    { words: ["api-"], want: ["api-resources", "api-versions", ":4"] },
    { words: ["get", "-f", ""], want: ["json", "yaml", "yml", ":8"] },
    { words: ["nosuch", ""], want: [":0"] },
    { words: ["cp", "kube-p"], want: ["kube-public/", ":2"] },
    { words: ["cp", "default/x"], want: [":2"] },
    { words: ["cp", "./"], want: [":2"] },
    { words: ["cp", "a", ""], want: [":2"] },
  ])("proposes $want for $words", async ({ words, want }) => {
    expect(await proposed(...words)).toEqual(want)
  })
})
