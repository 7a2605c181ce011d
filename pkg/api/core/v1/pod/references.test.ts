import { expect, test } from "bun:test"
import type { Pod } from "./pod.ts"
import { usesClaim, usesConfigMap, usesSecret } from "./references.ts"

/** A pod with references of each kind, and `more` further volumes and variables. */
const podWith = (more: number): Pod => {
  const others = Array.from({ length: more }, (_, i) => i)
  const spec = {
    imagePullSecrets: [{ name: "pull" }],
    volumes: [
      { name: "a", secret: { secretName: "volume-secret" } },
      { name: "b", configMap: { name: "volume-map" } },
      {
        name: "c",
        projected: { sources: [{ secret: { name: "source-secret" } }, { configMap: { name: "source-map" } }] },
      },
      { name: "d", persistentVolumeClaim: { claimName: "claim" } },
      { name: "e", ephemeral: {} },
      { name: "f", csi: { driver: "d", nodePublishSecretRef: { name: "csi-secret" } } },
      ...others.map((i) => ({ name: `v${i}`, configMap: { name: `map${i}` } })),
    ],
    containers: [
      {
        name: "c",
        env: [
          { name: "A", valueFrom: { secretKeyRef: { name: "variable-secret", key: "k" } } },
          { name: "B", valueFrom: { configMapKeyRef: { name: "variable-map", key: "k" } } },
        ],
      },
    ],
    initContainers: [
      {
        name: "i",
        envFrom: [
          { secretRef: { name: "from-secret" } },
          { configMapRef: { name: "from-map" } },
          ...others.map((i) => ({ secretRef: { name: `secret${i}` } })),
        ],
      },
    ],
  }
  return { metadata: { name: "web", namespace: "default" }, spec } as unknown as Pod
}

test.each([0, 500])("a pod with %i further references uses each object that it names, and no other", (more) => {
  // given
  const pod = podWith(more)
  // then
  const secrets = ["pull", "volume-secret", "source-secret", "csi-secret", "variable-secret", "from-secret"]
  const maps = ["volume-map", "source-map", "variable-map", "from-map"]
  for (const name of secrets)
    expect([name, usesSecret(pod, name), usesConfigMap(pod, name)]).toEqual([name, true, false])
  for (const name of maps) expect([name, usesSecret(pod, name), usesConfigMap(pod, name)]).toEqual([name, false, true])
  for (const name of ["claim", "web-e"]) expect([name, usesClaim(pod, name)]).toEqual([name, true])
  for (const name of ["", "a", "web", "claim2"])
    expect([usesSecret(pod, name), usesConfigMap(pod, name), usesClaim(pod, name)]).toEqual([false, false, false])
  expect([usesConfigMap(pod, "map499"), usesSecret(pod, "secret499")]).toEqual([more > 0, more > 0])
})
