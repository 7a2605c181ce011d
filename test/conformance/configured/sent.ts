import type { UserName } from "./users.ts"

/** A request that both servers get. */
export interface Sent {
  readonly title: string
  readonly user: UserName
  readonly method: string
  readonly path: string
  readonly body?: object | string
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  /** The answer may be of either kind, for instance since the server's own controllers may have been first. */
  readonly setup?: true
  /** A webhook fails several times, or a watch has to end: sent with others of this kind when all else is done. */
  readonly isSlow?: true
}

export const CORE = "/api/v1/namespaces"
export const IN = `${CORE}/compared`
export const SELF = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
export const AUTHORIZATION = "/apis/authorization.k8s.io/v1"

export const post = (title: string, user: UserName, path: string, body: object): Sent => ({
  title,
  user,
  method: "POST",
  path,
  body,
})
export const get = (title: string, user: UserName, path: string): Sent => ({ title, user, method: "GET", path })
export const object = (kind: string, name: string, more: object = {}, metadata: object = {}) => ({
  apiVersion: "v1",
  kind,
  metadata: { name, ...metadata },
  ...more,
})
export const rbac = (kind: string, name: string, more: object) => ({
  ...object(kind, name, more),
  apiVersion: "rbac.authorization.k8s.io/v1",
})
export const RBAC = "/apis/rbac.authorization.k8s.io/v1"
export const bound = (role: string, ...subjects: [kind: string, name: string][]) =>
  rbac("ClusterRoleBinding", role, {
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role },
    subjects: subjects.map(([kind, name]) => ({ apiGroup: "rbac.authorization.k8s.io", kind, name })),
  })
export const setup = (request: Sent): Sent => ({ ...request, setup: true })
export const whoami = (user: UserName, title = "", headers?: Sent["headers"]): Sent => ({
  ...post(`who is ${user}${title}`, user, SELF, {
    apiVersion: "authentication.k8s.io/v1",
    kind: "SelfSubjectReview",
  }),
  ...(headers === undefined ? {} : { headers }),
})
