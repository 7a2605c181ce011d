import { describe, expect, test } from "bun:test"
import type { Secret } from "../../../pkg/api/core/v1/secret/secret.ts"
import { credentialsFor } from "./credentials.ts"
import { parseImageName } from "./image-name.ts"

const secret = (auths: object): Secret =>
  ({
    metadata: {},
    type: "kubernetes.io/dockerconfigjson",
    data: { ".dockerconfigjson": btoa(JSON.stringify({ auths })) },
  }) as unknown as Secret
const jane = { username: "jane", password: "s3cret" }

describe("credentials of pull secrets", () => {
  test.each([
    ["are those of the image's registry", "127.0.0.1:5000/team/app:1", { "127.0.0.1:5000": jane }, ["jane"]],
    [
      "are not those of another registry",
      "127.0.0.1:5000/team/app:1",
      { "127.0.0.1:5001": jane, "127.0.0.1": jane },
      [],
    ],
    [
      "are those of the longest path first",
      "r.example/team/app:1",
      { "r.example": jane, "r.example/team": { auth: btoa("team:a:b") } },
      ["team", "jane"],
    ],
    ["of Docker Hub are found under its old name", "busybox:1", { "https://index.docker.io/v1/": jane }, ["jane"]],
    ["are found by a pattern", "eu.r.example/app", { "*.r.example": jane }, ["jane"]],
    ["are found by a pattern with several stars", "eu-1-a.r.example/app", { "e*-*a.r*.example": jane }, ["jane"]],
    ["are not found by a pattern whose ends overlap in the name", "aba.example/app", { "ab*ba.example": jane }, []],
    [
      "are not searched for ever by a pattern with many stars",
      `${"a".repeat(63)}.example/app`,
      { [`${"a*".repeat(40)}b.example`]: jane },
      [],
    ],
  ])("%s", (_title, image, auths, users) => {
    expect(credentialsFor(parseImageName(image)!, [secret(auths)]).map(({ auth }) => auth.username)).toEqual(users)
  })

  test("have no server address, since containerd would parse it as a URL", () => {
    expect(
      credentialsFor(parseImageName("127.0.0.1:5000/a:1")!, [secret({ "127.0.0.1:5000": jane })])[0]!.auth,
    ).toEqual({
      ...jane,
      serverAddress: "",
    })
  })
})
