import { describe, expect, test } from "bun:test"
import { defineResource } from "../apimachinery/resource.ts"
import { Pod } from "./core/v1/pod/pod.ts"
import { Event as EventsEvent } from "./events/v1/event.ts"
import { builtinScheme, createScheme, storageVersionHash } from "./scheme.ts"

const widget = (version: string) =>
  defineResource(
    { group: "example.com", version, kind: "Widget", plural: "widgets", scope: "Namespaced", doc: "A widget." },
    {},
  )

describe("builtinScheme", () => {
  const scheme = builtinScheme()

  test("finds a kind by its path, by its name and by apiVersion and kind of an object", () => {
    expect(scheme.resource("", "v1", "pods")).toBe(Pod)
    expect(scheme.kind("", "v1", "Pod")).toBe(Pod)
    expect(scheme.of("v1", "Pod")).toBe(Pod)
    expect(scheme.resource("apps", "v1", "deployments")?.kind).toBe("Deployment")
    expect(scheme.resource("apps", "v1", "pods")).toBeUndefined()
  })

  test("has kinds that are only bodies of subresources, without a path", () => {
    expect(scheme.of("authentication.k8s.io/v1", "TokenRequest")?.kind).toBe("TokenRequest")
    expect(scheme.resource("authentication.k8s.io", "v1", "tokenrequests")).toBeUndefined()
  })

  test("lists groups in the order in which kubectl resolves ambiguous names", () => {
    expect(scheme.groups.map(({ name }) => name)).toEqual([
      "",
      "apiregistration.k8s.io",
      "apps",
      "events.k8s.io",
      "authentication.k8s.io",
      "authorization.k8s.io",
      "autoscaling",
      "batch",
      "certificates.k8s.io",
      "networking.k8s.io",
      "policy",
      "rbac.authorization.k8s.io",
      "storage.k8s.io",
      "admissionregistration.k8s.io",
      "apiextensions.k8s.io",
      "scheduling.k8s.io",
      "coordination.k8s.io",
      "node.k8s.io",
      "discovery.k8s.io",
      "resource.k8s.io",
      "flowcontrol.apiserver.k8s.io",
    ])
  })

  test("has no two kinds with the same path or the same name", () => {
    const { resources } = scheme
    expect(new Set(resources.map(({ apiVersion, plural }) => `${apiVersion} ${plural}`)).size).toBe(resources.length)
    expect(new Set(resources.map(({ apiVersion, kind }) => `${apiVersion} ${kind}`)).size).toBe(resources.length)
  })
})

describe("createScheme", () => {
  test("adds and removes kinds while it runs", () => {
    // given a scheme with one kind, and somebody who listens
    const scheme = createScheme([Pod])
    let calls = 0
    const stop = scheme.subscribe(() => calls++)

    // when a kind comes in two versions
    scheme.add(widget("v1"))
    scheme.add(widget("v1beta1"))

    // then it is found, and its group comes last with the first version preferred
    expect(scheme.resource("example.com", "v1", "widgets")?.kind).toBe("Widget")
    expect(scheme.groups).toEqual([
      { name: "", versions: ["v1"], preferredVersion: "v1" },
      { name: "example.com", versions: ["v1", "v1beta1"], preferredVersion: "v1" },
    ])
    expect(scheme.versionsOf("example.com", "widgets").map(({ version }) => version)).toEqual(["v1", "v1beta1"])
    expect([calls, scheme.generation]).toEqual([2, 2])

    // and when it goes, so do its lookups
    stop()
    scheme.remove({ group: "example.com", version: "v1", plural: "widgets" })
    expect(scheme.of("example.com/v1", "Widget")).toBeUndefined()
    expect(scheme.group("example.com")?.preferredVersion).toBe("v1beta1")
    expect(calls).toBe(2)
  })
})

describe("storageVersionHash", () => {
  test(
    "is upstream's for a kind, that of the stored version for another version, and none for kinds that are not " +
      "stored",
    () => {
      expect(storageVersionHash(Pod)).toBe("xPOwRZ+Yhw8=")
      expect(storageVersionHash(EventsEvent)).toBe("r2yiGXH7wu8=")
      expect(storageVersionHash(builtinScheme().of("v1", "Binding")!)).toBeUndefined()
    },
  )
})
