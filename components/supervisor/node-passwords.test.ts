import { expect, test } from "bun:test"
import { Node } from "../../pkg/api/core/v1/node/node.ts"
import { nodePasswordSecret } from "../../pkg/api/core/v1/secret/node-password.ts"
import { Secret } from "../../pkg/api/core/v1/secret/secret.ts"
import { systemRandom } from "../../pkg/clock/random.ts"
import { realClock } from "../../pkg/clock/real.ts"
import { startCluster } from "../cluster/testing/testing.ts"
import { NodePasswords } from "./node-passwords.ts"

test("names of machines that never came, or whose Node is gone, are removed when the limit of names is reached", async () => {
  // given two names, of which one has a Node
  await using cluster = await startCluster({ clock: "real", components: { controllers: false, scheduler: false } })
  let ahead = 0
  const passwords = () =>
    new NodePasswords({
      client: cluster.contextFor("system:k3ts-supervisor", []).client,
      clock: { ...realClock, now: () => realClock.now() + ahead },
      random: systemRandom,
      most: 2,
    })
  await passwords().verify("one", "a".repeat(32))
  await passwords().verify("two", "b".repeat(32))
  await cluster.client.create(Node, { metadata: { name: "one" } })
  const third = () => passwords().verify("three", "c".repeat(32))
  await expect(third()).rejects.toThrow("2 have joined, which is the limit")
  // when the other has not come for as long as it may take
  ahead = 120_000
  await third()
  // then
  const secrets = await cluster.client.list(Secret, { namespace: "kube-system" })
  const names = secrets.items.map(({ metadata }) => metadata.name)
  expect(names).toEqual([nodePasswordSecret("one"), nodePasswordSecret("three")])
})
