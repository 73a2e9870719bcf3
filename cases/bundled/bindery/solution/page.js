"use strict";

function toggles(buttonId, open) {
  const button = document.getElementById(buttonId);
  button.addEventListener("click", () => {
    const now = button.getAttribute("aria-expanded") !== "true";
    button.setAttribute("aria-expanded", String(now));
    open(now);
  });
}

toggles("menu-button", (now) => document.getElementById("menu").classList.toggle("open", now));
toggles("classes-button", (now) => { document.getElementById("classes").hidden = !now; });

document.getElementById("form").addEventListener("submit", (event) => event.preventDefault());
