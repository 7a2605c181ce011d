/**
 * Returns the name of a component's program, by which managedFields show it, from that of its user: kube-scheduler for
 * system:kube-scheduler.
 */
export const agentOf = (user: string): string =>
  user === "system:apiserver" ? "kube-apiserver" : user.replace(/^system:(serviceaccount:[^:]+:)?/, "")
