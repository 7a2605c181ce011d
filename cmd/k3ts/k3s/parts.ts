/** Parts that `--disable` has in k3s under another name, or that k3ts does not have, and what is told of them. */
export const PARTS_OF_K3S: ReadonlyMap<string, string> = new Map([
  ["traefik", "that is k3s's Ingress controller; here it is ingress, and gateway for the Gateway API"],
  ["coredns", "that is k3s's DNS server; here it is dns"],
  ["local-path-provisioner", "that is k3s's provisioner; here it is local-storage"],
  ["ccm", "k3ts has no such part, so there is nothing to leave out"],
  ["runtimes", "k3ts has no such part, so there is nothing to leave out"],
  ["rolebindings", "k3ts has no such part, so there is nothing to leave out"],
])
