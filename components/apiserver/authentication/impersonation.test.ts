import { describe, expect, test } from "bun:test"
import type { ResourceAttributes } from "../call/request.ts"
import { impersonate } from "./impersonation.ts"

const sender = { name: "boss", groups: ["bosses", "system:authenticated"] }

/** Impersonates by the given headers, and records what the authorizer was asked. */
function acting(
  headers: Readonly<Record<string, readonly string[]>>,
  allowed: (attributes: ResourceAttributes) => boolean = () => true,
) {
  const asked: string[] = []
  const user = impersonate(
    sender,
    { header: (name) => headers[name] ?? [], headerNames: () => Object.keys(headers) },
    (attributes) => {
      const { verb, group, resource, subresource, namespace, name } = attributes
      asked.push(
        [verb, group, subresource === undefined ? resource : `${resource}/${subresource}`, namespace, name]
          .filter((part) => part)
          .join(" "),
      )
      return { allowed: allowed(attributes), reason: "" }
    },
  )
  return { user, asked }
}

describe("an impersonated request", () => {
  test("needs the right to impersonate the user, and each group and extra value", () => {
    expect(
      acting({
        "impersonate-user": ["jane"],
        "impersonate-group": ["a", "b"],
        "impersonate-uid": ["7"],
        "impersonate-extra-scopes%2fx": ["r", "w"],
      }),
    ).toEqual({
      user: { name: "jane", groups: ["a", "b", "system:authenticated"], uid: "7", extra: { "scopes/x": ["r", "w"] } },
      asked: [
        "impersonate users jane",
        "impersonate groups a",
        "impersonate groups b",
        "impersonate authentication.k8s.io userextras/scopes/x r",
        "impersonate authentication.k8s.io userextras/scopes/x w",
        "impersonate authentication.k8s.io uids 7",
      ],
    })
  })

  test("has the groups of the service account that it impersonates", () => {
    expect(acting({ "impersonate-user": ["system:serviceaccount:ns:builder"] })).toEqual({
      user: {
        name: "system:serviceaccount:ns:builder",
        groups: ["system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"],
      },
      asked: ["impersonate serviceaccounts ns builder"],
    })
  })

  test("is in the group system:unauthenticated if it impersonates the anonymous user", () => {
    expect(acting({ "impersonate-user": ["system:anonymous"] }).user.groups).toEqual(["system:unauthenticated"])
  })

  test("is refused with a message that names the missing right", () => {
    expect(() =>
      acting(
        { "impersonate-user": ["jane"], "impersonate-group": ["system:masters"] },
        ({ resource }) => resource === "users",
      ),
    ).toThrow(
      'groups "system:masters" is forbidden: User "boss" cannot impersonate resource "groups" in API group "" ' +
        "at the cluster scope",
    )
  })

  test("must name a user", () => {
    expect(() => acting({ "impersonate-group": ["a"] })).toThrow("without impersonating a user")
    expect(() => acting({ "impersonate-extra-a": ["b"] })).toThrow("without impersonating a user")
    expect(acting({}).user).toBe(sender)
  })
})
