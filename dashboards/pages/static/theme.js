// Before the first paint: the theme that was chosen here, if any.
(() => {
  const chosen = (() => {
    try {
      return localStorage.getItem("sweeper-theme");
    } catch {
      return null; // a browser that keeps nothing
    }
  })();
  if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
})();
