/** The ways into the package: the name behind `k3ts/`, and the module of our sources. */
export const ENTRIES: Readonly<Record<string, string>> = {
  testing: "components/cluster/testing/testing.ts",
  operator: "pkg/operator/operator.ts",
}
